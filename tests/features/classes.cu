// Classes: constructors, methods, operators, inheritance, virtual functions.
class Complex {
  public:
    __host__ __device__ Complex(float re = 0, float im = 0) : re_(re), im_(im)
    {
    }
    __host__ __device__ float norm() const
    {
        return re_ * re_ + im_ * im_;
    }
    __host__ __device__ friend Complex operator+(const Complex &a, const Complex &b)
    {
        return Complex(a.re_ + b.re_, a.im_ + b.im_);
    }
    __host__ __device__ Complex operator*(const Complex &b) const
    {
        return {re_ * b.re_ - im_ * b.im_, re_ * b.im_ + im_ * b.re_};
    }
    __host__ __device__ Complex &operator+=(const Complex &b)
    {
        return *this = *this + b;
    }
    __host__ __device__ explicit operator float() const
    {
        return re_;
    }

  private:
    float re_, im_;
};

__global__ void escape_times(int *out, int width, float step)
{
    int x = threadIdx.x, y = blockIdx.x;
    Complex c(x * step - 2.0f, y * step - 1.0f), z;
    int n = 0;
    while (n < 12 && z.norm() < 4.0f) {
        z = z * z + c;
        n++;
    }
    out[y * width + x] = n;
}

__global__ void sums(const float *in, float *out)
{
    Complex sum;
    for (int i = 0; i <= (int)threadIdx.x; i++) {
        sum += Complex(in[i], 1.0f);
    }
    out[threadIdx.x] = (float)sum + sum.norm();
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape()
    {
    }
};

struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s)
    {
    }
    __device__ float area() const override
    {
        return side * side;
    }
};

struct Rectangle : Shape {
    float a, b;
    __device__ Rectangle(float a, float b) : a(a), b(b)
    {
    }
    __device__ float area() const override
    {
        return a * b;
    }
};

__device__ float twice_the_area(const Shape &shape)
{
    return 2 * shape.area();
}

__global__ void virtual_functions(const float *in, float *out)
{
    float v = in[threadIdx.x];
    if (threadIdx.x % 2) {
        out[threadIdx.x] = twice_the_area(Square(v));
    } else {
        out[threadIdx.x] = twice_the_area(Rectangle(v, 3.0f));
    }
}

struct Counter {
    int *total;
    int mine;
    __device__ explicit Counter(int *t) : total(t), mine(0)
    {
    }
    __device__ ~Counter()
    {
        atomicAdd(total, mine);
    }
    __device__ Counter &operator++()
    {
        mine++;
        return *this;
    }
};

__global__ void destructors(const int *in, int *total)
{
    Counter counter(total);
    for (int i = 0; i < 4; i++) {
        if (in[threadIdx.x * 4 + i] > 0) {
            ++counter;
        }
    }
}
