// Casts a ray per pixel at a few spheres; shades what is hit by the angle of the light.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif

template <typename T>
class vec3 {
public:
    T e[3];
    vec3() = default;
    HD vec3(T x, T y, T z) : e{x, y, z} {}
    HD explicit vec3(T s) : vec3(s, s, s) {}
    HD T x() const { return e[0]; }
    HD T y() const { return e[1]; }
    HD T z() const { return e[2]; }
    HD T operator[](int i) const { return e[i]; }
    HD T& operator[](int i) { return e[i]; }
    HD vec3 operator-() const { return {-e[0], -e[1], -e[2]}; }
    HD vec3& operator+=(const vec3& o)
    {
        for (int i = 0; i < 3; ++i) e[i] += o.e[i];
        return *this;
    }
    HD T squared_length() const { return dot(*this, *this); }
    HD friend T dot(const vec3& a, const vec3& b) { return a.e[0] * b.e[0] + a.e[1] * b.e[1] + a.e[2] * b.e[2]; }
    HD friend vec3 operator+(vec3 a, const vec3& b) { return a += b; }
    HD friend vec3 operator-(const vec3& a, const vec3& b) { return a + -b; }
    HD friend vec3 operator*(T s, const vec3& v) { return {s * v.e[0], s * v.e[1], s * v.e[2]}; }
    HD friend bool operator<(const vec3& a, const vec3& b) { return a.squared_length() < b.squared_length(); }
    HD friend bool operator>(const vec3& a, const vec3& b) { return b < a; }
    friend std::ostream& operator<<(std::ostream& out, const vec3& v)
    {
        return out << '(' << v.x() << ", " << v.y() << ", " << v.z() << ')';
    }
};

using Vec = vec3<float>;
using Point = Vec;

HD inline Vec normalised(const Vec& v) { return (1.0f / std::sqrt(v.squared_length())) * v; }

struct Ray {
    Point origin;
    Vec direction;
    HD Point at(float t) const { return origin + t * direction; }
};

struct Sphere {
    Point centre;
    float radius;
    uint32_t colour; // 0x00RRGGBB

    // The distance along the ray to the nearer intersection; infinity if there is none.
    HD float hit(const Ray& ray) const
    {
        const Vec oc = ray.origin - centre;
        const float b = dot(oc, ray.direction), c = oc.squared_length() - radius * radius;
        const float discriminant = b * b - c;
        if (discriminant < 0) return INFINITY;
        const float t = -b - std::sqrt(discriminant);
        return t > 1e-3f ? t : INFINITY;
    }
};

union Pixel {
    uchar4 channel;
    uint32_t word;
};

__constant__ Sphere scene[8];
__managed__ int rays_that_hit = 0;

HD inline uchar4 shade(const Sphere& s, const Point& where, const Vec& light)
{
    const Vec normal = (1.0f / s.radius) * (where - s.centre);
    const float diffuse = fmaxf(dot(normal, light), 0.0f) * 0.8f + 0.2f;
    return make_uchar4((unsigned char)(diffuse * (s.colour >> 16 & 255)), (unsigned char)(diffuse * (s.colour >> 8 & 255)),
                       (unsigned char)(diffuse * (s.colour & 255)), 255);
}

HD inline Ray primary(int x, int y, int width, int height)
{
    const float u = (x + 0.5f - 0.5f * width) / height, v = (0.5f * height - y - 0.5f) / height;
    return {Point{}, normalised({u, v, -1.0f})};
}

__global__ void render(uint32_t *image, int width, int height, int spheres, Vec light)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const Ray ray = primary(x, y, width, height);
    float nearest = INFINITY;
    int which = -1;
    for (int i = 0; i < spheres; ++i)
        if (float t = scene[i].hit(ray); t < nearest) nearest = t, which = i;

    Pixel p;
    p.word = 0xff402010u;
    if (which >= 0) {
        p.channel = shade(scene[which], ray.at(nearest), light);
        atomicAdd(&rays_that_hit, 1);
    }
    image[y * width + x] = p.word;
}

std::string describe(const Sphere& s) { return "sphere of radius " + std::to_string(s.radius); }

const std::vector<Sphere> spheres = {
    {{0, 0, -3}, 1, 0xff8000}, {{1.5f, 0.5f, -4}, 0.8f, 0x20c040}, {{-1.2f, -0.4f, -2.5f}, 0.5f, 0x4060ff},
    {{0, -101, -3}, 100, 0xc0c0c0}};
const std::string title = describe(spheres.front()) + " and others";

int main(int argc, char **argv)
{
    const int width = 200, height = 150;
    const Vec light = normalised({1, 1, 0.5f});
    std::vector<Pixel> image(width * height);
    uint32_t *device = nullptr;
    if (cudaMalloc(&device, image.size() * sizeof(Pixel)) != cudaSuccess) return 1;
    if (cudaMemcpyToSymbol(scene, spheres.data(), spheres.size() * sizeof(Sphere)) != cudaSuccess) return 1;
    const dim3 block(8, 8), grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    std::printf("%s\n", title.c_str());
    render<<<grid, block>>>(device, width, height, (int)spheres.size(), light);
    if (const cudaError_t e = cudaMemcpy(image.data(), device, image.size() * sizeof(Pixel), cudaMemcpyDeviceToHost)) {
        std::printf("%s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaFree(device);

    int hits = 0, different = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const Ray ray = primary(x, y, width, height);
            const auto closest = std::min_element(spheres.begin(), spheres.end(), [&](const Sphere& a, const Sphere& b) {
                return a.hit(ray) < b.hit(ray);
            });
            Pixel p;
            p.word = 0xff402010u;
            if (const float t = closest->hit(ray); t < INFINITY) {
                p.channel = shade(*closest, ray.at(t), light);
                ++hits;
            }
            const uchar4 a = p.channel, b = image[y * width + x].channel;
            different += std::abs(a.x - b.x) > 1 || std::abs(a.y - b.y) > 1 || std::abs(a.z - b.z) > 1;
        }
    if (argc > 1) {
        std::ofstream file(argv[1], std::ios::binary);
        file << "P6 " << width << ' ' << height << " 255\n";
        for (const Pixel& p : image) file.write((const char *)&p, 3);
    }
    std::printf("%d rays hit (%d on the host), %d pixels differ\n", rays_that_hit, hits, different);
    const bool good = different < width * height / 200 && std::abs(rays_that_hit - hits) < 50;
    std::puts(good ? "OK" : "FAILED");
    return good ? 0 : 1;
}
