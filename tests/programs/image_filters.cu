/*
 * Image to grey, then blurred: pixels as uchar4, the blur once per direction.
 *
 *     image_filters [INPUT.ppm OUTPUT.pgm]
 */
#include <cuda_runtime.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#ifndef IMAGE_FILTERS_H
#define IMAGE_FILTERS_H

template <typename Pixel>
struct Image {
	Pixel *pixels;
	int    width;
	int    height;

	__host__ __device__ bool  contains(int x, int y) const { return x >= 0 && x < width && y >= 0 && y < height; }
	__host__ __device__ Pixel& at(int x, int y)            { return pixels[y * width + x]; }
	__host__ __device__ const Pixel& at(int x, int y) const { return pixels[y * width + x]; }
};

typedef Image<uchar4>        ColourImage;
typedef Image<unsigned char> GreyImage;

#endif // IMAGE_FILTERS_H

#define RADIUS 4

__constant__ float weights[RADIUS + 1];    // of the centre, and of what is 1, 2, ... away

__host__ __device__ inline unsigned char grey_of(uchar4 p)
{
	return (unsigned char)((77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8);
}

__global__ void rgba_to_grey(ColourImage in, GreyImage out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (in.contains(x, y)) {
		out.at(x, y) = grey_of(in.at(x, y));
	}
}

template <bool horizontal>
__global__ void blur(GreyImage in, GreyImage out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (!in.contains(x, y))
		return;
	float sum = weights[0] * in.at(x, y);
	for (int r = 1; r <= RADIUS; r++) {
		if (horizontal) {
			sum += weights[r] * (in.at(max(x - r, 0), y) + in.at(min(x + r, in.width - 1), y));
		} else {
			sum += weights[r] * (in.at(x, max(y - r, 0)) + in.at(x, min(y + r, in.height - 1)));
		}
	}
	out.at(x, y) = (unsigned char)fminf(sum + 0.5f, 255.0f);
}

std::ostream &operator<<(std::ostream &out, const GreyImage &image)
{
	out << "P5\n" << image.width << ' ' << image.height << "\n255\n";
	return out.write(reinterpret_cast<const char *>(image.pixels), (std::streamsize)image.width * image.height);
}

static bool read_ppm(const char *path, std::vector<uchar4> &pixels, int &width, int &height)
{
	std::ifstream file(path, std::ios::binary);
	std::string magic;
	int limit;
	if (!(file >> magic >> width >> height >> limit) || magic != "P6" || limit != 255) {
		return false;
	}
	file.get();
	pixels.resize((size_t)width * height);
	for (auto &p : pixels) {
		char rgb[3];
		if (!file.read(rgb, 3)) return false;
		p = make_uchar4(rgb[0], rgb[1], rgb[2], 255);
	}
	return true;
}

struct GpuTimer {
	cudaEvent_t start, stop;
	GpuTimer() { cudaEventCreate(&start); cudaEventCreate(&stop); }
	~GpuTimer() { cudaEventDestroy(start); cudaEventDestroy(stop); }
	void Start() { cudaEventRecord(start, 0); }
	void Stop() { cudaEventRecord(stop, 0); }
	float Elapsed()
	{
		float elapsed;
		cudaEventSynchronize(stop);
		cudaEventElapsedTime(&elapsed, start, stop);
		return elapsed;
	}
};

int main(int argc, char **argv)
{
	int width = 517, height = 389;
	std::vector<uchar4> input((size_t)width * height);
	for (int i = 0; i < width * height; i++)
		input[i] = make_uchar4(i % 256, (i / 7) % 256, (i * i) % 256, 255);
	if (argc == 3 && !read_ppm(argv[1], input, width, height)) {
		std::cerr << argv[1] << " is no PPM\n";
		return 2;
	}
	float h_weights[RADIUS + 1], sum = 0;
	for (int r = 0; r <= RADIUS; r++) {
		h_weights[r] = std::exp(-r * r / 8.0f);
		sum += (r ? 2 : 1) * h_weights[r];
	}
	for (float &w : h_weights) w /= sum;
	cudaMemcpyToSymbol(weights, h_weights, sizeof(h_weights));

	size_t n = input.size();
	ColourImage colour = { nullptr, width, height };
	GreyImage grey = { nullptr, width, height }, rows = grey, out = grey;
	cudaMalloc(&colour.pixels, n * sizeof(uchar4));
	cudaMalloc(&grey.pixels, n);
	cudaMalloc(&rows.pixels, n);
	cudaMalloc(&out.pixels, n);
	cudaMemcpy(colour.pixels, input.data(), n * sizeof(uchar4), cudaMemcpyHostToDevice);

	GpuTimer timer;
	dim3 block(32, 8, 1), grid((width + 31) / 32, (height + 7) / 8, 1);
	timer.Start();
	rgba_to_grey<<<grid, block>>>(colour, grey);
	blur<true><<<grid, block>>>(grey, rows);
	blur<false><<<grid, block>>>(rows, out);
	timer.Stop();
	std::cout << width << " x " << height << ": " << timer.Elapsed() << " ms" << std::endl;

	std::vector<unsigned char> g(n), r(n), o(n);
	cudaMemcpy(g.data(), grey.pixels, n, cudaMemcpyDeviceToHost);
	cudaMemcpy(r.data(), rows.pixels, n, cudaMemcpyDeviceToHost);
	if (cudaError_t error = cudaMemcpy(o.data(), out.pixels, n, cudaMemcpyDeviceToHost)) {
		std::cerr << cudaGetErrorString(error) << std::endl;
		return 1;
	}
	long wrong = 0;
	auto weighted = [&](const std::vector<unsigned char> &v, int x, int y, int dx, int dy) {
		float s = 0;
		for (int k = -RADIUS; k <= RADIUS; k++) {
			int px = std::min(std::max(x + k * dx, 0), width - 1), py = std::min(std::max(y + k * dy, 0), height - 1);
			s += h_weights[std::abs(k)] * v[(size_t)py * width + px];
		}
		return s;
	};
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			size_t i = (size_t)y * width + x;
			wrong += g[i] != grey_of(input[i]);
			wrong += std::fabs(weighted(g, x, y, 1, 0) - r[i]) > 0.51f;
			wrong += std::fabs(weighted(r, x, y, 0, 1) - o[i]) > 0.51f;
		}
	if (argc == 3) {
		GreyImage host = { o.data(), width, height };
		std::ofstream(argv[2], std::ios::binary) << host;
	}
	cudaFree(colour.pixels);
	cudaFree(grey.pixels);
	cudaFree(rows.pixels);
	cudaFree(out.pixels);
	std::cout << (wrong ? "FAILED" : "OK") << std::endl;
	return wrong != 0;
}
